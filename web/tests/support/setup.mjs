// What every browser test begins with: the page server, each browser in turn, and its tests in it.
import { after, before, describe } from "node:test";
import { BROWSERS, inPage, launch, serve } from "./pages.mjs";

/** Declares `tests` once for each browser. They get `run(body, args, options)`, which runs in a page. */
export function inEachBrowser(topic, tests) {
  for (const name of BROWSERS) {
    describe(`${topic} in ${name}`, { concurrency: false }, () => {
      let server, browser;
      before(async () => {
        server = await serve();
        browser = await launch(name);
      });
      after(async () => {
        await browser?.stop();
        server?.stop();
      });
      tests((body, args, options) => inPage(browser, server.url, body, args, options), name);
    });
  }
}

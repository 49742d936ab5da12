// The dashboard in both browsers: every tile has content, what it costs is what it says, and the page stands on a narrow screen.
import assert from "node:assert/strict";
import { after, before, beforeEach, afterEach, describe, it } from "node:test";
import { BROWSERS, launch } from "../tests/support/pages.mjs";
import { serve } from "./serve.mjs";

for (const name of BROWSERS) {
  describe(`the dashboard in ${name}`, { concurrency: false }, () => {
    let site, browser, page, said;
    before(async () => {
      [site, browser] = await Promise.all([serve({ latency: 5 }), launch(name)]);
    });
    after(async () => {
      await browser?.stop();
      site?.stop();
    });
    beforeEach(async () => {
      await site.origin.clear();
      said = [];
      page = await browser.blank("about:blank");
      page.on("console", (message) => message.type() === "error" && said.push(message.text()));
      page.on("pageerror", (error) => said.push(String(error)));
      await page.setViewport({ width: 1280, height: 900 });
      await page.goto(site.url);
      await loaded(1);
    });
    afterEach(() => page.close());

    const loaded = (times) => page.waitForFunction((times) => Number(document.body.dataset.loads ?? 0) >= times || document.querySelector("#status.bad"), { timeout: 60_000 }, times);
    const texts = (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));

    it("draws every tile with one request for each file", async () => {
      const kinds = await page.$$eval(".tile", (all) => all.map((tile) => [tile.className.split(" ").at(-1), tile.querySelectorAll("svg path, svg rect, td").length > 0, tile.getAttribute("aria-busy")]));
      assert.ok(kinds.length >= 12);
      assert.deepEqual(kinds.filter(([, drawn, busy]) => !drawn || busy !== "false"), []);
      assert.deepEqual([...new Set(kinds.map(([kind]) => kind))].sort(), ["bars", "cells", "number", "series", "table"]);
      assert.deepEqual(await site.origin.methods(), { GET: 60 });
      assert.match((await texts("#status"))[0], /60 requests, 1 hop\.$/);
      assert.deepEqual(said, []);
    });

    it("shows each request in the waterfall and in its table", async () => {
      const bars = await page.$$eval("#waterfall g[aria-label=bar]", (groups) => groups.map((group) => group.querySelectorAll("rect").length));
      assert.deepEqual(bars, [60, 60]);
      assert.equal((await texts("#requests tbody tr")).length, 60);
      assert.deepEqual(await texts("#waterfall g[aria-label=text] text"), ["hop 1"]);
    });

    it("queries again for another time range", async () => {
      const before = await texts(".tile .value");
      await page.$eval("[name=minutes][value='10']", (input) => input.click());
      await loaded(2);
      const after = await texts(".tile .value");
      assert.notEqual(after[0], before[0]);
      assert.equal((await site.origin.methods()).GET, 120);
      assert.deepEqual(said, []);
    });

    it("reads a file of the visitor's own, and says what is wrong with another", async () => {
      const run = async (url) => {
        await page.$eval("#own", (form, url) => {
          form.elements.url.value = url;
          document.getElementById("own-result").replaceChildren();
          form.requestSubmit();
        }, url);
        await page.waitForFunction(() => document.querySelector("#own-result table, #own-result .bad"), { timeout: 60_000 });
        return (await texts("#own-result"))[0];
      };
      assert.match(await run(site.origin.urls[0]), /[\d,]+ rows, 20 columns: p_timestamp Timestamp\(ms\)/);
      assert.match(await run(site.origin.url("/none.parquet")), /^not-found: /);
    });

    it("does not scroll sideways, wide or narrow", async () => {
      for (const width of [390, 768, 1440]) {
        await page.setViewport({ width, height: 900 });
        await new Promise((resolve) => setTimeout(resolve, 300));
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px`);
      }
    });
  });
}

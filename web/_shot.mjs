import { launch } from "./tests/support/pages.mjs";
import { serve } from "./demo/serve.mjs";
const site = await serve({ latency: 30 });
const browser = await launch("chromium");
for (const [w, theme] of (process.argv[2] ?? "1440light,1440dark,390light").split(",").map((s) => [parseInt(s), s.replace(/\d+/, "")])) {
  const page = await browser.blank("about:blank");
  page.on("console", (m) => console.log("console", m.type(), m.text())); page.on("pageerror", (e) => console.log("error", String(e)));
  await page.setViewport({ width: w, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(site.url);
  await page.waitForFunction(() => document.body.dataset.loads || document.querySelector("#status.bad"), { timeout: 60000 }).catch((e) => console.log(String(e)));
  console.log(await page.$eval("#status", (e) => e.textContent), await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]));
  if (process.argv[3]) { await page.$eval("#own button", (b) => b.click()); await new Promise(r => setTimeout(r, 1500)); }
  await page.screenshot({ path: `/tmp/shot-${w}${theme}.png`, fullPage: true });
  await page.close();
}
await browser.stop(); site.stop(); process.exit();

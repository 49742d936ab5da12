// What the requests alone take: fetches that wait for one another only where they must, of ranges that are known.
const init = { cache: "no-store" };

export function start() {
  return async ({ floor }, urls, log) => {
    await Promise.all(urls.map((url) => (floor === "whole" ? body(url) : ranges(url, log))));
    return {};
  };
}

/** The file's size, its tail, and then what farquet read of the data, all at once. */
async function ranges(url, log) {
  await fetch(url, { ...init, method: "HEAD" });
  const path = url.split("?")[0];
  const of = (...causes) => log.filter((request) => request.range && request.url === path && causes.includes(request.cause));
  for (const step of [of("footer"), of("page_index", "data")]) await Promise.all(step.map(({ range }) => body(url, range)));
}

async function body(url, range) {
  // Without another header there is no preflight.
  const response = await fetch(url, range ? { ...init, headers: { Range: range } } : init);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  await response.arrayBuffer();
}

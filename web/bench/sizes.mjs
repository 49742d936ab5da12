import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Bytes of `files`, raw and compressed one by one, as a server would. */
export async function sizesOf(files) {
  const sum = { raw: 0, gzip: 0, brotli: 0 };
  for (const bytes of files) {
    sum.raw += bytes.length;
    sum.gzip += (await promisify(gzip)(bytes, { level: 9 })).length;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    sum.brotli += (await promisify(brotliCompress)(bytes, { params })).length;
  }
  return sum;
}

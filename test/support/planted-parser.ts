// Preloaded into a service (`node --import`): a parser of pages that fails as the page says.
import { registerHooks } from 'node:module';

const PARSER = 'checkers/engine/meta-refresh.ts';
const BEGINS = /export function refreshOf\(html: string[^{]*\{/;
/** The thread hangs asleep: test/service/supervised-thread.test.ts ends a busy one, which would take a processor for 10 s. */
const PLANTED = `
  if (html.includes('planted: hang')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (html.includes('planted: throw')) throw new Error('planted');
  if (html.includes('planted: memory')) for (let all: unknown = null; ; ) all = { all };
`;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith(PARSER)) return loaded;
    const source = String(loaded.source);
    if (!BEGINS.test(source)) throw new Error('the parser begins otherwise by now');
    return { ...loaded, source: source.replace(BEGINS, (begin) => begin + PLANTED) };
  },
});

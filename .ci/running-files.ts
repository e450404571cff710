// Loaded by AVA before each test file: keeps a mark of the file in the folder RUNNING_FILES while its thread or process lives. A
// mark that stays after the run is of a file that was ended by force. A file whose tests are done, but which has left something open, as
// a test does that fails before it closes a server, is ended after a minute: AVA would wait for it until its limit. AVA does not say in which
// file an error was thrown outside of a test, so the file FILE.errors in that folder has the first line of each.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';

const file = relative(process.cwd(), fileURLToPath(test.meta.file));
const mark = join(process.env.RUNNING_FILES!, encodeURIComponent(file));
writeFileSync(mark, '');
const LEFT_OPEN_MS = 60_000;
registerCompletionHandler(() => {
  setTimeout(() => process.exit(1), LEFT_OPEN_MS).unref();
});
process.once('exit', () => rmSync(mark));

const note = (error: unknown) =>
  appendFileSync(
    `${mark}.errors`,
    `${error instanceof Error ? (error.stack ?? error.message) : error}`.split('\n', 1)[0] + '\n',
  );
process.on('unhandledRejection', note);
process.on('uncaughtExceptionMonitor', note);

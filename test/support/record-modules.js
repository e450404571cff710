// Preloaded into each thread of a service: appends the URL of each file that the thread loads to a file of its own in the
// folder MODULES_FOLDER. JavaScript, because a thread's first TypeScript file may load Node's compiler.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

const file = join(process.env.MODULES_FOLDER, String(threadId));
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});

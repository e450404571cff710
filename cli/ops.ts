#!/usr/bin/env node
// `npm run ops -- COMMAND`: the operators' commands. `--help` lists them.
import '../boot.js';
import '../service/private-files.ts';
import { EXIT } from './ops/command.ts';
import { failureOf, runOps } from './ops/run-ops.ts';
import { userFolder } from './user-folder.ts';

// Without these, an error of this program would end it with the code of a violation.
process.on('uncaughtException', (error) => fail(error));
process.on('unhandledRejection', (error) => fail(error));
// EPIPE: nobody reads the output any more, such as `head` that has seen enough. The code is the one of shells for SIGPIPE. Other errors
// are those of a file, such as a full disk.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(141);
  fail(error);
});

try {
  process.exitCode = await runOps(process.argv.slice(2), {
    env: process.env,
    folder: userFolder(),
    in: process.stdin,
    out: process.stdout,
    err: process.stderr,
  });
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  process.stderr.write(failureOf(error));
  process.exit(EXIT.unknown);
}

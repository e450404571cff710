// Lints both OpenAPI documents by the strict rules of `redocly.yaml`; makes them from the table of routes without a service.
// Proves on a spoilt copy that the rules report faults. The linter's update check and telemetry are switched off.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openDocuments } from '../test/support/documents.ts';

const CONFIG = join(import.meta.dirname, '..', 'redocly.yaml');
const LINTER = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin', 'cli.js');

const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
try {
  const { gateway, v2 } = openDocuments();
  const spoilt = openDocuments().v2;
  delete spoilt.paths['/api/v2/jobs'].post.summary;
  const right = lint({ gateway, v2 });
  const wrong = lint({ spoilt });
  if (right.status !== 0) console.error(right.output);
  if (wrong.status === 0) console.error('self-check: an operation without a summary is not reported');
  const holds = right.status === 0 && wrong.status !== 0;
  console.log(`openapi: ${holds ? 'both documents are valid' : 'the documents are not as they should be'}`);
  process.exitCode = holds ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}

function lint(documents: Readonly<Record<string, object>>): { status: number | null; output: string } {
  const files = Object.entries(documents).map(([name, document]) => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(document, null, 2));
    return file;
  });
  const { status, stdout, stderr } = spawnSync(process.execPath, [LINTER, 'lint', ...files, '--config', CONFIG], {
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  return { status, output: `${stdout}${stderr}` };
}

// Writes the table of read models in `docs/architecture.md`, from what each of them says of itself. Fails when it had to write: commit it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_PROJECTIONS, openWorkerLogFollower } from '../projections/all.ts';
import { readConfig } from '../settings/config.ts';

const PAGE = join(import.meta.dirname, '..', 'docs', 'architecture.md');
const HEAD = '| read model | bytes | when it goes |\n|---|---|---|\n';

const projections = [...ALL_PROJECTIONS, ...openWorkerLogFollower(readConfig({})).projections];
const rows = projections
  .flatMap(({ collections }) => collections)
  .map(({ name, kept: { bytes, until } }) => `| \`${name}\` | ${bytes} | ${until} |\n`);
const page = readFileSync(PAGE, 'utf8');
const from = page.indexOf(HEAD);
if (from === -1) throw new Error(`${PAGE} has no table of read models`);
const end = page.indexOf('\n\n', from) + 1;
const written = page.slice(0, from) + HEAD + rows.join('') + page.slice(end);
if (written === page) console.log(`read models: ${rows.length} are in the table of what is kept`);
else {
  writeFileSync(PAGE, written);
  console.log('read models: docs/architecture.md is written anew: look at it and commit it');
  process.exitCode = 1;
}

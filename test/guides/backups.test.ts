// The guide's commands print what it says, and its tables name each setting and each field of the format.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { FORMAT, FORMAT_VERSION } from '../../backups/lines.ts';
import { SETTINGS } from '../../settings/config.ts';
import { runGuide } from '../support/guide.ts';
import { testWith } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/guides/backups.md'), 'utf8');

testWith('bash', 'curl')('a backup is made, verified and restored as the guide says', async (t) => {
  t.timeout(300_000);
  const service = await startTestService();
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-guide-'));
  try {
    const replace = {
      ...{ '127.0.0.1:8080': new URL(service.url).host, 'data/demo': service.data_dir },
      ...{ '/tmp/backup': `${folder}/backup`, '/tmp/cut': `${folder}/cut`, '/tmp/restored': `${folder}/restored` },
    };
    t.is(await runGuide('docs/guides/backups.md', { replace }), null);
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

test('the guide names the settings with their defaults, and the format with its version', (t) => {
  t.true(
    text.includes(`\`BACKUP_KEEP\` | The most backups that are kept, ${SETTINGS.BACKUP_KEEP.fallback} by default`),
  );
  t.is(SETTINGS.BACKUP_KEEP_DAYS.fallback, null);
  t.true(text.includes(`(\`${FORMAT}\`)`));
  t.true(text.includes(`Version ${FORMAT_VERSION}.`));
});

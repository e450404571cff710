// The project's own example lists pages of the demo's sample website. That runs beside a check of this list alone, which may request it.
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { openSampleSiteAt, SAMPLE_ADDRESS, SAMPLE_PORT, type SampleSite } from '../sample-site.ts';
import type { CheckCommand, Input } from './command.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/urls.csv');

interface WithSite {
  command: CheckCommand;
  /** Null where the check needs none, or where the demo's is there already. */
  site: SampleSite | null;
}

/** `allowed`: the private addresses that the environment allows. */
export async function withExampleSite(command: CheckCommand, allowed: string | undefined): Promise<WithSite> {
  if (command.inputs.length === 0 || !command.inputs.every(isExample)) return { command, site: null };
  const addresses = [command.settings.CHECKER_ALLOW_ADDRESSES ?? allowed, SAMPLE_ADDRESS];
  const settings = { ...command.settings, CHECKER_ALLOW_ADDRESSES: addresses.filter(Boolean).join(',') };
  return { command: { ...command, settings }, site: await openSampleSiteAt(SAMPLE_PORT) };
}

function isExample(input: Input): boolean {
  try {
    return input.kind === 'file' && realpathSync(input.path) === realpathSync(EXAMPLE);
  } catch {
    return false;
  }
}

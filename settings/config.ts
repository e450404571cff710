// Reads the settings of the service from the environment, and checks them as a whole.
import { isIP } from 'node:net';
import { disagreements, masked } from './disagreements.ts';
import type { Setting } from './kinds.ts';
import { misspelt } from './misspelt.ts';
import { usualCredits } from './own-service.ts';
import { ROLES, SETTINGS, type Settings } from './table.ts';

export { ROLES, type Role, SETTINGS } from './table.ts';

export type Config = Omit<Settings, 'public_url' | 'signup_credits'> & {
  readonly public_url: string;
  readonly signup_credits: number;
};

/** Invalid settings. The message has a line for each, with its value (secrets masked) and a valid one's description. */
export class ConfigError extends Error {
  readonly code = 'config';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Reads the settings from the environment. Throws `ConfigError` with all problems, not only the first.
 * @example readConfig({ ROLES: 'http,projector' }).roles // ['http', 'projector']
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const given = env[name]?.trim() ?? '';
    const value = given === '' ? row.fallback : row.parse(given);
    values[name.toLowerCase()] = value;
    if (value === undefined) problems.push(`${name} is ${masked(given, row.secret)}: it must be ${row.wants}`);
  }
  problems.push(...misspelt(env, Object.keys(SETTINGS)));
  // Settings are compared with each other only when each is valid.
  if (problems.length === 0) problems.push(...disagreements(values as unknown as Settings));
  if (problems.length > 0) throw new ConfigError(problems);
  const settings = values as unknown as Settings;
  return {
    ...settings,
    signup_credits: settings.signup_credits ?? usualCredits(settings),
    public_url: (settings.public_url ?? baseUrl(settings.host, settings.port)).replace(/\/+$/, ''),
  };
}

function baseUrl(host: string, port: number): string {
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Returns the text of `.env.example`: each setting with its meaning, its valid values and its default. */
export function envExample(): string {
  const rows = Object.entries<Setting<unknown>>(SETTINGS).map(([name, row]) => {
    const fallback = shown(row.fallback);
    return `# ${row.means}\n# Must be ${row.wants}.\n${fallback === '' ? '# ' : ''}${name}=${fallback}\n`;
  });
  return `# The settings of the service; each is optional. A line that starts with # is unset.\n\n${rows.join('\n')}`;
}

function shown(fallback: unknown): string {
  if (fallback === ROLES) return 'all';
  return typeof fallback === 'string' || typeof fallback === 'number' ? String(fallback) : '';
}

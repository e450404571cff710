// `npm run mcp`: the interface for agents over standard input and output. With URL_CHECKER_URL and URL_CHECKER_API_KEY it passes messages to the
// service there; without, it starts a service of its own over DATA_DIR, which ends with it.
import { passMessages } from './mcp/pass-messages.ts';
import { readWords } from './usage.ts';

const USAGE = `usage: npm run -s mcp
  URL_CHECKER_URL      the service to ask, such as https://checker.example.com; unset: one of its own over DATA_DIR
  URL_CHECKER_API_KEY  an API key of that service`;
const USER = 'mcp';

readWords({}, USAGE);
const { URL_CHECKER_URL: url, URL_CHECKER_API_KEY: key } = process.env;
if (url !== undefined && (!URL.canParse(url) || !key)) {
  process.stderr.write(
    `URL_CHECKER_URL must be a URL, and URL_CHECKER_API_KEY an API key of that service.\n${USAGE}\n`,
  );
  process.exit(2);
}
await (url === undefined ? overOwnService() : passMessages(url, key!, process.stdin, process.stdout));

async function overOwnService(): Promise<void> {
  // Loaded here: whoever asks another service needs none of it.
  const { startLocalService } = await import('./local-service.ts');
  const { join } = await import('node:path');
  const { mkdir } = await import('node:fs/promises');
  const data_dir = process.env.DATA_DIR ?? './data/mcp';
  await mkdir(data_dir, { recursive: true });
  // Standard output is the client's.
  const defaults = { DATA_DIR: data_dir, LOG_FILE: join(data_dir, 'service.log'), PORT: '0' };
  const { service, url, token } = await startLocalService(USER, defaults);
  try {
    await passMessages(url, token, process.stdin, process.stdout);
  } finally {
    await service.stop();
  }
}

// Prints a token of the local issuer: npm run token -- --user alice --email a@example.com [--admin] [--hours 24]. With --link it
// prints a link that signs a browser in once.
import '../service/private-files.ts';
import { issueLocalCode, issueLocalToken } from '../adapters/identity/index.ts';
import { isUserId } from '../http/callers/identity.ts';
import { readConfig } from '../settings/config.ts';
import { signInLink } from './sign-in-link.ts';
import { readWords } from './usage.ts';

const USAGE = 'usage: npm run token -- --user ID [--email ADDRESS] [--admin] [--hours 24] [--link]';
const MAX_HOURS = 24 * 366;

function read() {
  const options = {
    user: { type: 'string' },
    email: { type: 'string' },
    admin: { type: 'boolean', default: false },
    hours: { type: 'string', default: '24' },
    link: { type: 'boolean', default: false },
  } as const;
  const { values } = readWords({ options }, USAGE);
  const hours = Number(values.hours);
  if (!values.user || !isUserId(values.user)) {
    throw new Error('--user must be 1 to 200 visible ASCII characters, and not begin with uc_test:');
  }
  if (values.email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(values.email))
    throw new Error('--email must be an address');
  if (!(hours > 0 && hours <= MAX_HOURS)) throw new Error(`--hours must be a number up to ${MAX_HOURS}`);
  return {
    user_id: values.user,
    email: values.email?.toLowerCase() ?? null,
    is_admin: values.admin,
    hours,
    link: values.link,
  };
}

let data_dir = '';
try {
  const { link, ...wanted } = read();
  const config = readConfig(process.env);
  data_dir = config.data_dir;
  if (config.identity_jwks_url !== null) {
    throw new Error('IDENTITY_JWKS_URL is set: that identity provider issues the tokens');
  }
  const issued = await (link ? issueLocalCode : issueLocalToken)(data_dir, wanted);
  console.log(link ? signInLink(config.public_url, issued) : issued);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const is_of_folder = error instanceof Error && 'syscall' in error;
  // Where a folder of it is read-only, the system's own words name a missing file.
  console.error(
    is_of_folder
      ? `DATA_DIR ${data_dir} cannot be used, where the service keeps its key: ${message}`
      : `${message}\n${USAGE}`,
  );
  process.exitCode = 2;
}

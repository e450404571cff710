import { COMPILED } from './ava.config.js';

// The suites that need real servers: named by NATS_URL, MONGODB_URL and EVENTSTORE_URL, or started where Docker runs.
export default {
  extensions: ['ts'],
  files: ['test/servers/**/*.test.ts'],
  // They wait for servers most of the time.
  concurrency: 5,
  timeout: '180s',
  environmentVariables: { NODE_COMPILE_CACHE: COMPILED },
};

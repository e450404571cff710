import { COMPILED, REQUIRE, TIMEOUT, TMPDIR } from './ava.config.js';

// The suites that need real servers: named by NATS_URL, MONGODB_URL and EVENTSTORE_URL, or started where Docker runs.
export default {
  extensions: ['ts'],
  files: ['test/servers/**/*.test.ts'],
  // A thread that ends with sockets of servers that were killed may spin for ever in Node's cleanup; a process just ends.
  workerThreads: false,
  // They wait for servers as much as they work.
  concurrency: 3,
  timeout: TIMEOUT,
  require: REQUIRE,
  environmentVariables: { NODE_COMPILE_CACHE: COMPILED, TMPDIR },
};

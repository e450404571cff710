// The EventStoreDB protocol server as a process of its own, which may be stopped and cut off. Its log is in memory: to
// kill it would be to lose the truth, and so it is not killed.
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';

const server = await startEventStoreDbServer();
process.stdout.write(`${server.url}\n`);
process.on('SIGTERM', () => process.exit(0));

// The worker log over documents in SQLite; over MongoDB in `test/servers/mongodb.test.ts`.
import test from 'ava';
import { workerLogContract } from '../../contracts/worker-log.ts';
import { IN_SQLITE } from '../../support/sqlite-fixture.ts';

workerLogContract(test, 'the worker log in SQLite', IN_SQLITE);

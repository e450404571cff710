// Two projectors, exports at a flip, and the list of users, over documents in SQLite; over MongoDB in `test/servers/mongodb.test.ts`.
import test from 'ava';
import { exportContract } from '../../contracts/exports.ts';
import { projectorContract } from '../../contracts/projector.ts';
import { userListContract } from '../../contracts/user-list.ts';
import { IN_SQLITE } from '../../support/sqlite-fixture.ts';

projectorContract(test, 'projectors over SQLite', IN_SQLITE);
exportContract(test, 'exports from SQLite', IN_SQLITE);
userListContract(test, 'the list of users in SQLite', IN_SQLITE);

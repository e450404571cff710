// The ledger's Merkle tree over documents in SQLite; over MongoDB in `test/servers/mongodb.test.ts`.
import test from 'ava';
import { ledgerTreeContract } from '../../contracts/ledger-tree.ts';
import { IN_SQLITE } from '../../support/sqlite-fixture.ts';

ledgerTreeContract(test, "the ledger's tree in SQLite", IN_SQLITE);

// The read model of the ledger's Merkle tree against the log itself. A store's test enrols with one line.
import type { TestFn } from 'ava';
import { proveConsistency, proveInclusion } from '../../audit/proofs.ts';
import { sourceOfLog } from '../../audit/source.ts';
import { openLedgerProofs } from '../../http/ledger/heads.ts';
import { ledgerTreeProjection } from '../../projections/billing/ledger-tree.ts';
import { ledgerLeaves, ledgerTree, TREE_ID } from '../../readmodels/ledger-tree.ts';
import { requestRebuild } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { appendLongLedger } from '../support/long-ledger.ts';
import { coded, openTestStores, project } from '../support/stores.ts';
import { type Fixture, sentences } from './documents/fixture.ts';

const SIZES = [1, 2, 3, 64, 129, 300];

export function ledgerTreeContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);

  sentence('every root and proof is that of the log, made in parts and anew', async (t, { documents }) => {
    const stores = await openTestStores(t);
    const log = coded(stores.log);
    const source = sourceOfLog(log);
    const projected = () => project({ log, documents }, [ledgerTreeProjection]);
    const made = async () => {
      const readmodels = openReadModels(documents);
      const leaves = readmodels.collection(ledgerLeaves);
      const { size } = (await readmodels.collection(ledgerTree).get(TREE_ID))!;
      const proofs = openLedgerProofs(leaves);
      for (const first of SIZES.filter((each) => each <= size)) {
        const { first_root_hash, second_root_hash, proof } = await proveConsistency(source, first, size);
        t.deepEqual([await proofs.root(first), await proofs.root(size)], [first_root_hash, second_root_hash]);
        t.deepEqual(await proofs.consistency(first, size), proof);
        t.deepEqual(await proofs.inclusion(first - 1, size), (await proveInclusion(source, first - 1, size)).proof);
      }
      return { size, leaves: await Array.fromAsync(leaves.stream({})) };
    };
    const { entries } = await appendLongLedger(log, 150);
    await projected();
    t.is((await made()).size, entries);
    const more = await appendLongLedger(log, 150);
    await projected();
    const live = await made();
    t.is(live.size, entries + more.entries);
    await requestRebuild(documents, ledgerTreeProjection.name);
    await projected();
    t.deepEqual(await made(), live);
  });
}

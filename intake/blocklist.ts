// The process's copy of the blocklist, by which intake classifies every URL. It is reloaded only when the list has changed.
import { BLOCKLIST, type BlockedDomainDocument, type BlocklistVersionDocument } from '../readmodels/blocked-domains.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { breather } from '../time/event-loop.ts';
import { blockedDomains } from './blocked-domains.ts';

/** A snapshot of the list. Hosts are in the URL parser's form. */
export type BlockedNow = ReturnType<typeof blockedNow>;

export interface Blocklist {
  /** The list with every change that the read models have at the time of the call. Costs one small read. */
  current(): Promise<BlockedNow>;
}

export function openBlocklist(
  entries: Pick<LiveCollection<BlockedDomainDocument>, 'stream'>,
  versions: Pick<LiveCollection<BlocklistVersionDocument>, 'get'>,
): Blocklist {
  const version = async () => (await versions.get(BLOCKLIST))?.position ?? '';
  let loaded = { position: '', now: blockedNow(new Map()) };
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    // The version is read first: an entry added during the load then causes another load and is never missed.
    const position = await version();
    const by_domain = new Map<string, BlockedDomainDocument>();
    const breathe = breather();
    for await (const entry of entries.stream({})) {
      by_domain.set(entry._id, entry);
      await breathe();
    }
    loaded = { position, now: blockedNow(by_domain) };
  }
  return {
    async current() {
      const wanted = await version();
      // A load in progress may have started before the change.
      while (loaded.position < wanted) await (loading ??= load().finally(() => (loading = null)));
      return loaded.now;
    },
  };
}

function blockedNow(by_domain: ReadonlyMap<string, BlockedDomainDocument>) {
  const blocked_domain_of = blockedDomains(by_domain);
  return {
    blocked_domain_of,
    /** The entry that a host falls under. */
    entryOf: (host: string): BlockedDomainDocument | null => by_domain.get(blocked_domain_of(host) ?? '') ?? null,
  };
}

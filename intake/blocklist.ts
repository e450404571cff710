// The blocklist in the memory of the process: asked about every URL of an upload, read anew only when it has changed.
import { BLOCKLIST, type BlockedDomainDocument, type BlocklistVersionDocument } from '../readmodels/blocked-domains.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import { blockedDomains } from './blocked-domains.ts';
import type { BlockedDomainOf } from './classify-url.ts';
import { breather } from './event-loop.ts';

/** The list at one moment. Hosts are as the URL parser has them. */
export interface BlockedNow {
  blocked_domain_of: BlockedDomainOf;
  /** The entry that a host falls under. */
  entryOf(host: string): BlockedDomainDocument | null;
}

export interface Blocklist {
  /** The list with every change that the read models have seen when this is called: one small read. */
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
    // The version first: an entry that comes while the entries are read is then read again next time, never missed.
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
      // A load that was under way may be of before the change.
      while (loaded.position < wanted) await (loading ??= load().finally(() => (loading = null)));
      return loaded.now;
    },
  };
}

function blockedNow(by_domain: ReadonlyMap<string, BlockedDomainDocument>): BlockedNow {
  const blocked_domain_of = blockedDomains(by_domain);
  return {
    blocked_domain_of,
    entryOf: (host) => by_domain.get(blocked_domain_of(host) ?? '') ?? null,
  };
}

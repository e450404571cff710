// The name servers of this machine, with what their answers taught us.
import type { Endpoint, ResolvConf } from './system.ts';

export interface NameServer extends Endpoint {
  /** Whether its answers repeat the case of the name. */
  keeps_case: boolean;
  knows_edns: boolean;
}

export class NameServers {
  #conf: ResolvConf | null = null;
  #all: NameServer[] = [];
  #turn = 0;
  /** When one of them was last heard. */
  heard_at = Number.NEGATIVE_INFINITY;
  /** When they were last of use after they had been away. */
  back_at = Number.NEGATIVE_INFINITY;
  /** Whether they have ever answered for the root. */
  know_root = false;

  /** The servers in the order in which the next query asks them. */
  inOrder(conf: ResolvConf): readonly NameServer[] {
    if (conf !== this.#conf) {
      this.#conf = conf;
      this.know_root = false;
      this.#all = conf.servers.map((endpoint) => ({ ...endpoint, keeps_case: true, knows_edns: true }));
    }
    if (!conf.rotates) return this.#all;
    const first = this.#turn++ % this.#all.length;
    return [...this.#all.slice(first), ...this.#all.slice(0, first)];
  }

  toString(): string {
    return this.#all.map(({ address }) => address).join(', ');
  }
}

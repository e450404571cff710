// A ledger as an accountant would keep it on paper: every credit is a coin that lies in one place. It shares no code with the service's own.

/** Where a coin is. `for`: it stands in for a spent coin of a lot whose payment went back. */
type Place =
  | { is: 'free' | 'spent' | 'expired' | 'taken' | 'expired and taken' }
  | { is: 'held'; job: string; turn: number }
  | { is: 'for'; lot: string; turn: number };
interface Coin {
  lot: PaperLot;
  place: Place;
}
interface PaperLot {
  id: string;
  expires_at: number;
  coins: Coin[];
  /** Spent coins of a payment that went back, for which no other coin could be found. */
  owed: number;
}

export class Paper {
  /** In order of spending. */
  readonly lots: PaperLot[] = [];
  private turns = 0;

  /** `expires_at`: in milliseconds, or infinity. */
  grant(id: string, coins: number, expires_at: number, now: number): void {
    const lot: PaperLot = { id, expires_at, coins: [], owed: 0 };
    lot.coins = Array.from({ length: coins }, () => ({ lot, place: { is: 'free' } }));
    this.lots.push(lot);
    this.lots.sort((a, b) => a.expires_at - b.expires_at || 0);
    this.tidy(now);
  }

  reserve(job: string, up_to: number, now: number): number {
    this.expire(now);
    const coins = this.free().slice(0, up_to);
    for (const coin of coins) coin.place = { is: 'held', job, turn: this.turns++ };
    return coins.length;
  }

  /** The coins that were reserved last come back, the others are spent. */
  settle(job: string, unused: number, now: number): void {
    const held = this.coins().filter(({ place }) => place.is === 'held' && place.job === job);
    held.sort((a, b) => turnOf(b) - turnOf(a));
    for (const [n, coin] of held.entries()) coin.place = { is: n < unused ? 'free' : 'spent' };
    if (unused > 0) this.tidy(now);
  }

  /** A negative number is spent, a positive one is a lot for ever. */
  adjust(id: string, coins: number, now: number): void {
    this.expire(now);
    if (coins > 0) this.grantForEver(id, coins);
    else for (const coin of this.free().slice(0, -coins)) coin.place = { is: 'spent' };
    this.payDebts();
  }

  expire(now: number): void {
    for (const coin of this.free()) if (coin.lot.expires_at <= now) coin.place = { is: 'expired' };
  }

  /** So many coins of the lot are taken back in all. */
  reverse(id: string, target: number, now: number): void {
    this.expire(now);
    const lot = this.lots.find((each) => each.id === id)!;
    const more = target - this.claimed(lot);
    for (let n = 0; n < more; n++) this.take(lot);
    for (let n = 0; n < -more; n++) this.giveBack(lot);
    if (more !== 0) this.tidy(more < 0 ? now : Number.NEGATIVE_INFINITY);
  }

  figures() {
    const in_place = (lot: PaperLot, ...places: Place['is'][]) =>
      lot.coins.filter(({ place }) => places.includes(place.is)).length;
    return {
      balance: this.free().length,
      owed: this.lots.reduce((sum, { owed }) => sum + owed, 0),
      lots: this.lots.map((lot) => ({
        lot_id: lot.id,
        remaining: in_place(lot, 'free'),
        reversed: {
          own: in_place(lot, 'taken'),
          expired: in_place(lot, 'expired and taken'),
          others: this.standIns(lot).length + lot.owed,
        },
      })),
    };
  }

  private coins = () => this.lots.flatMap(({ coins }) => coins);
  private free = () => this.coins().filter(({ place }) => place.is === 'free');
  private standIns = (lot: PaperLot) =>
    this.coins()
      .filter(({ place }) => place.is === 'for' && place.lot === lot.id)
      .sort((a, b) => turnOf(a) - turnOf(b));
  private claimed = (lot: PaperLot) =>
    lot.coins.filter(({ place }) => place.is === 'taken' || place.is === 'expired and taken').length +
    this.standIns(lot).length +
    lot.owed;

  private grantForEver(id: string, coins: number): void {
    const lot: PaperLot = { id, expires_at: Number.POSITIVE_INFINITY, coins: [], owed: 0 };
    lot.coins = Array.from({ length: coins }, () => ({ lot, place: { is: 'free' } }));
    this.lots.push(lot);
  }

  private take(lot: PaperLot): void {
    const own = lot.coins.find(({ place }) => place.is === 'free');
    const lapsed = lot.coins.find(({ place }) => place.is === 'expired');
    const other = this.free()[0];
    if (own) own.place = { is: 'taken' };
    else if (lapsed) lapsed.place = { is: 'expired and taken' };
    else if (other) other.place = { is: 'for', lot: lot.id, turn: this.turns++ };
    else lot.owed += 1;
  }

  private giveBack(lot: PaperLot): void {
    const stand_in = this.standIns(lot).at(-1);
    const lapsed = lot.coins.find(({ place }) => place.is === 'expired and taken');
    if (lot.owed > 0) lot.owed -= 1;
    else if (stand_in) stand_in.place = { is: 'free' };
    else if (lapsed) lapsed.place = { is: 'expired' };
    else lot.coins.find(({ place }) => place.is === 'taken')!.place = { is: 'free' };
  }

  /** Debts are paid, coins that came back to their lot take the place of those that stood in for them, and what is over expires. */
  private tidy(now: number): void {
    this.payDebts();
    this.expire(now);
  }

  private payDebts(): void {
    const owed = this.lots.reduce((sum, lot) => sum + lot.owed, 0);
    const paying = this.free().slice(0, owed);
    for (const coin of paying) {
      if (coin.lot.owed === 0) continue;
      coin.lot.owed -= 1;
      coin.place = { is: 'taken' };
    }
    for (const lot of this.lots) {
      for (const coin of paying) {
        if (coin.place.is !== 'free' || lot.owed === 0) continue;
        lot.owed -= 1;
        coin.place = { is: 'for', lot: lot.id, turn: this.turns++ };
      }
    }
    for (let lot = this.returned(); lot; lot = this.returned()) {
      lot.coins.find(({ place }) => place.is === 'free')!.place = { is: 'taken' };
      const stand_in = this.standIns(lot).at(-1);
      if (lot.owed > 0) lot.owed -= 1;
      else stand_in!.place = { is: 'free' };
    }
  }

  private returned = () =>
    this.lots.find(
      (lot) => lot.coins.some(({ place }) => place.is === 'free') && this.standIns(lot).length + lot.owed > 0,
    );
}

const turnOf = ({ place }: Coin): number => ('turn' in place ? place.turn : 0);

// The definition of one event type: the schema of its data in the current version, and the upcasters from older versions.

import { type PersonalField, personalFields } from './personal.ts';
import { type Static, type TObject, type TProperties, Type } from './schema.ts';

/** Makes the data of the next version of a type from the data of one version. It never mutates its argument. */
export type Upcaster = (data: unknown) => unknown;

export interface EventSpec<Schema extends TObject = TObject> {
  /** Schema of the data in the current version. */
  readonly schema: Schema;
  /**
   * Upcaster n, counted from 1, makes version n + 1 from version n, so the current version is the number of upcasters + 1.
   * An event's metadata has its version; an event without one has version 1.
   */
  readonly upcasters: readonly Upcaster[];
  /** The fields that the log holds sealed. */
  readonly personal: readonly PersonalField[];
}

/** The event types of one category of streams, by name. */
export type EventSpecs = Readonly<Record<string, EventSpec>>;

/**
 * An event type whose data has these properties.
 * @example event({ name: Type.String() }, (v1) => ({ name: (v1 as { title: string }).title })) // version 2
 */
export const event = <Properties extends TProperties>(
  properties: Properties,
  ...upcasters: Upcaster[]
): EventSpec<TObject<Properties>> => ({
  schema: Type.Object(properties),
  upcasters,
  personal: personalFields(properties),
});

export type DataOf<Spec extends EventSpec> = Static<Spec['schema']>;

/** Any event of a category. */
export type EventsOf<Specs extends EventSpecs> = {
  [Type in keyof Specs]: { type: Type; data: DataOf<Specs[Type]> };
}[keyof Specs];

// What the vocabulary says of one event type: the shape of its data today, and how older shapes become it.
import { type Static, type TObject, type TProperties, Type } from 'typebox';

/** From the data of one version of a type to the data of the next one. It never changes what it is given. */
export type Upcaster = (data: unknown) => unknown;

export interface EventSpec<Schema extends TObject = TObject> {
  /** Of the data, in the current version. */
  readonly schema: Schema;
  /**
   * The n-th makes version n + 1 from version n, counted from 1: the current version is one more than there are upcasters. An
   * event says its version in its metadata; one that says none has version 1.
   */
  readonly upcasters: readonly Upcaster[];
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
): EventSpec<TObject<Properties>> => ({ schema: Type.Object(properties), upcasters });

export type DataOf<Spec extends EventSpec> = Static<Spec['schema']>;

/** Any of the events of a category. */
export type EventsOf<Specs extends EventSpecs> = {
  [Type in keyof Specs]: { type: Type; data: DataOf<Specs[Type]> };
}[keyof Specs];

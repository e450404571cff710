/**
 * Tells without a wait whether what its caller reads afterwards is still so; false where a store cannot tell at once. Null in its place: the
 * store never can.
 */
export type Unchanged = () => boolean;

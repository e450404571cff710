/**
 * The names of a union in the order of `all`, whose type wants each of them: one that the service adds is no name that a page forgets.
 * @example namesOf<Job['status']>({ processing: 1, paused: 1, completed: 1, cancelled: 1, failed: 1 })
 */
export const namesOf = <Name extends string>(all: Readonly<Record<Name, 1>>) => Object.keys(all) as Name[];

// Gives turns to owners, and within each owner to its jobs. An owner or job that has had its turn goes to the end. Each step costs
// the same, however many wait. Without effects.

export class OwnerTurns<Job> {
  /** Each owner's jobs by id. The first owner of the map is next, and the first of its jobs. */
  readonly #owners = new Map<string, Map<string, Job>>();

  get owners(): number {
    return this.#owners.size;
  }

  /** Adds a job at the end; a job that waits already keeps its place. */
  add(owner_id: string, job_id: string, job: Job): void {
    const jobs = this.#owners.get(owner_id);
    if (jobs === undefined) this.#owners.set(owner_id, new Map([[job_id, job]]));
    else jobs.set(job_id, job);
  }

  remove(owner_id: string, job_id: string): void {
    const jobs = this.#owners.get(owner_id);
    if (jobs?.delete(job_id) && jobs.size === 0) this.#owners.delete(owner_id);
  }

  /** Returns the owner whose turn it is and moves it to the end. */
  nextOwner(): string | undefined {
    const [first] = this.#owners;
    if (first === undefined) return undefined;
    const [owner_id, jobs] = first;
    this.#owners.delete(owner_id);
    this.#owners.set(owner_id, jobs);
    return owner_id;
  }

  /** Returns the owner's first job that `may` go, and moves it to the end of the owner's jobs. */
  nextJob(owner_id: string, may: (job: Job) => boolean): Job | undefined {
    const jobs = this.#owners.get(owner_id);
    if (jobs === undefined) return undefined;
    for (const [job_id, job] of jobs) {
      if (!may(job)) continue;
      jobs.delete(job_id);
      jobs.set(job_id, job);
      return job;
    }
    return undefined;
  }
}

// Whose turn it is: owners one after the other, then the jobs of each. Turns are kept from one call to the next, and
// whoever was served last stands last. Each step costs the same, however many wait. Pure.

export class Turns<Job> {
  /** By owner, each with its jobs by id: the first of a map is next. */
  readonly #owners = new Map<string, Map<string, Job>>();

  get owners(): number {
    return this.#owners.size;
  }

  /** One that is there already keeps its place. */
  add(owner_id: string, job_id: string, job: Job): void {
    const jobs = this.#owners.get(owner_id);
    if (jobs === undefined) this.#owners.set(owner_id, new Map([[job_id, job]]));
    else jobs.set(job_id, job);
  }

  remove(owner_id: string, job_id: string): void {
    const jobs = this.#owners.get(owner_id);
    if (jobs?.delete(job_id) && jobs.size === 0) this.#owners.delete(owner_id);
  }

  /** The owner whose turn it is, who then stands last. */
  nextOwner(): string | undefined {
    const [first] = this.#owners;
    if (first === undefined) return undefined;
    const [owner_id, jobs] = first;
    this.#owners.delete(owner_id);
    this.#owners.set(owner_id, jobs);
    return owner_id;
  }

  /** Of an owner's jobs, the first that `may` go, which then stands last among them. */
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

// `npm run bench`: runs every comparison and prints the table of the README.
import { adminTable, benchAdmin } from './admin.ts';
import { benchAppend } from './append.ts';
import { benchChecker, CHECKER_BENCH } from './checker.ts';
import { benchEndToEnd, endToEndTable } from './end-to-end.ts';
import { benchExport, exportTable } from './export.ts';
import { benchGrowth, growthTable } from './growth.ts';
import { benchJobs, jobsTable } from './jobs.ts';
import { benchMillion, millionTable } from './million.ts';
import { benchSmallJobs, smallJobsTable } from './small-jobs.ts';
import { benchStats, statsTable } from './stats.ts';

const append = await benchAppend();
console.log('Event log, appends of 100 checked URLs, several at once');
console.log(`  log         ${(append.log_per_s / 1000).toFixed(0)} k URL/s`);
console.log(`  bare inserts ${(append.raw_per_s / 1000).toFixed(0)} k URL/s`);
console.log(`  log / bare inserts = ${append.ratio.toFixed(2)}\n`);
for (const measured of await benchEndToEnd({ rounds: 7 })) console.log(`${endToEndTable(measured)}\n`);
console.log(`${jobsTable(await benchJobs())}\n`);
console.log(`${smallJobsTable(await benchSmallJobs())}\n`);
console.log(`${statsTable(await benchStats())}\n`);
for (const measured of await benchAdmin()) console.log(`${adminTable(measured)}\n`);
console.log(`${exportTable(await benchExport())}\n`);
console.log(`${growthTable(await benchGrowth())}\n`);
console.log(`${millionTable(await benchMillion())}\n`);
await benchChecker(CHECKER_BENCH);

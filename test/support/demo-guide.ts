// Runs a guide against a service and the sample website, as the demo starts them.
import { delimiter, dirname } from 'node:path';
import { openSampleSite, SAMPLE_PORT } from '../../cli/sample-site.ts';
import { type GuideOptions, runGuide } from './guide.ts';
import { startTestService } from './service.ts';

/** What is wrong with the guide, or null. `settings`: of the service. `node` in its commands is the one that runs this. */
export async function runDemoGuide(
  path: string,
  settings: Record<string, string> = {},
  { replace = {}, ...options }: Omit<GuideOptions, 'env'> = {},
): Promise<string | null> {
  const site = await openSampleSite();
  try {
    const service = await startTestService(settings);
    try {
      const places = {
        '127.0.0.1:8080': new URL(service.url).host,
        [`127.0.0.1:${SAMPLE_PORT}`]: `127.0.0.1:${site.port}`,
        ...replace,
        'data/demo': service.data_dir,
      };
      const env = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
      return await runGuide(path, { ...options, replace: places, env });
    } finally {
      await service.stop();
    }
  } finally {
    await site.close();
  }
}

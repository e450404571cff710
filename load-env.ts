// For `npm start` and `npm run token`: reads `.env` where there is one. What the environment says already wins.
import { existsSync } from 'node:fs';

if (existsSync('.env')) process.loadEnvFile();

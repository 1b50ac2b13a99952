// Checks what deploy/observability has for Grafana and Azure Monitor, with their
// makers' own types and parser. Only build/ remains.

import { join } from 'node:path';
import { checkDashboard } from './dashboard.js';
import { checkQueries } from './queries.js';

const shipped = join(import.meta.dirname, '..', '..', 'deploy', 'observability');
try {
  console.log(`dashboard: ${await checkDashboard(join(shipped, 'grafana', 'leasehold.json'))} panels`);
  console.log(`Azure Monitor: ${await checkQueries(join(shipped, 'azure'))} queries`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

// Takes the OpenAPI document from a server of its own, lints it, generates a
// client from it, compiles that strictly together with flow.test.ts, and runs the
// flow against the server. Only build/ remains.

import { spawnSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, makeTemporary, startServer } from '../sdk-js/lib/server.js';

const here = import.meta.dirname;
const build = join(here, 'build');

/** Runs a program of node_modules, or node itself, and throws unless it succeeds. */
function run(name, words, environment = {}) {
  const program = name === 'node' ? process.execPath : join(here, 'node_modules', '.bin', name);
  const { status, error } = spawnSync(program, words, {
    cwd: here,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  if (status !== 0) throw new Error(`${name} ${words.join(' ')} failed: ${error ?? `exit code ${status}`}`);
}

async function fetchDocument(apiURL, file) {
  const answer = await fetch(new URL('/openapi.json', apiURL));
  if (!answer.ok) throw new Error(`GET /openapi.json = ${answer.status}`);
  await writeFile(file, await answer.text());
}

/** The linter sends nothing to its makers. */
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

const temporary = await makeTemporary();
try {
  const server = await startServer(findProgram(temporary), join(temporary, 'data'));
  try {
    await rm(build, { recursive: true, force: true });
    await mkdir(build);
    const document = join(build, 'openapi.json');
    await fetchDocument(server.apiURL, document);
    run('redocly', ['lint', '--extends=recommended', '--max-problems=1000', document], quiet);
    run('openapi-typescript', [document, '--output', join(build, 'api.d.ts')]);
    run('tsc', ['--project', join(here, 'tsconfig.json')]);
    run('node', ['--test', join(build, 'flow.test.js')], { LEASEHOLD_API_URL: server.apiURL });
  } finally {
    await server.stop();
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await rm(temporary, { recursive: true, force: true });
}

// Runs the tests against a server of their own, on free ports and in a temporary
// directory. Arguments go to node's test runner:
//
//   node run.js [--test-name-pattern=snapshot] [test/leases.test.js ...]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, makeTemporary, startServer } from './lib/server.js';

const here = import.meta.dirname;

async function testFiles() {
  const names = await readdir(join(here, 'test'));
  return names.filter((name) => name.endsWith('.test.js')).map((name) => join(here, 'test', name));
}

/** The tests wait more than they work, so more of them run at a time than there are cores. */
async function runTests(environment, words) {
  const files = words.some((word) => word.endsWith('.js')) ? [] : await testFiles();
  const child = spawn(process.execPath, ['--test', '--test-concurrency=6', ...words, ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

const temporary = await makeTemporary();
try {
  const program = findProgram(temporary);
  const server = await startServer(program, join(temporary, 'data'));
  try {
    process.exitCode = await runTests(
      { LEASEHOLD_BIN: program, LEASEHOLD_BLOB_URL: server.blobURL, LEASEHOLD_API_URL: server.apiURL },
      process.argv.slice(2),
    );
  } finally {
    await server.stop();
  }
} finally {
  await rm(temporary, { recursive: true, force: true });
}

// Starts and stops the real program. Nothing here knows the SDK.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** A new temporary directory. The caller removes it. */
export const makeTemporary = () => mkdtemp(join(tmpdir(), 'leasehold-sdk-js-'));

/** The program under test: the one that LEASEHOLD_BIN names, or else one built into a directory. */
export function findProgram(directory) {
  if (process.env.LEASEHOLD_BIN) return process.env.LEASEHOLD_BIN;
  const program = join(directory, 'leasehold');
  const build = spawnSync('go', ['build', '-o', program, './cmd/leasehold'], { cwd: repository, stdio: 'inherit' });
  if (build.status !== 0) throw new Error('go build of ./cmd/leasehold failed');
  return program;
}

/** Starts a server on free ports and resolves when its APIs answer. */
export async function startServer(program, data) {
  const child = spawn(
    program,
    ['serve', '--json', '--listen', '127.0.0.1:0', '--blob-listen', '127.0.0.1:0', '--data', data, '--log-level', 'warn'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => text),
    ended.then(([code]) => Promise.reject(new Error(`leasehold serve ended with ${code} before it was ready`))),
  ]);
  const addresses = JSON.parse(line);
  return {
    blobURL: new URL('/devstoreaccount1', addresses.azure_blob).href,
    apiURL: addresses.json_api,
    /** Sends the signal and resolves when the server has ended. */
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await ended;
    },
  };
}

// What was acknowledged is there after a kill -9.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A } from '../lib/leases.js';
import { findProgram, makeTemporary, startServer } from '../lib/server.js';

const md5 = (data) => createHash('md5').update(data).digest('hex');
const temporary = await makeTemporary();
after(() => rm(temporary, { recursive: true, force: true }));
const program = findProgram(temporary);

/** The container of a test, at a server that was just started. */
function containerAt(server) {
  return new BlobServiceClient(server.blobURL, azure.credential, azure.options).getContainerClient('kept');
}

/** Writes until the server dies, and returns what was acknowledged. */
async function writeUntilDeath(container, round) {
  const acknowledged = [];
  for (let i = 0; ; i++) {
    const data = randomBytes(i % 7 === 0 ? 200_000 : 500);
    const blob = container.getBlockBlobClient(`${round}/${i}`);
    try {
      await blob.upload(data, data.length);
      const kept = { name: blob.name, md5: md5(data) };
      acknowledged.push(kept);
      if (i % 3 === 0) kept.snapshot = (await blob.createSnapshot()).snapshot;
      if (i % 4 === 0) {
        await blob.getBlobLeaseClient(A).acquireLease(-1);
        kept.leased = true;
      }
    } catch (error) {
      assert.equal(error.statusCode, undefined, `the server refused instead of dying: ${error.statusCode} ${error.code}`);
      return acknowledged;
    }
  }
}

async function checkKept(container, { name, md5: want, snapshot, leased }) {
  const blob = container.getBlockBlobClient(name);
  assert.equal(md5(await blob.downloadToBuffer()), want, `content of ${name}`);
  if (snapshot) assert.equal(md5(await blob.withSnapshot(snapshot).downloadToBuffer()), want, `snapshot of ${name}`);
  if (leased) {
    await refused(blob.setMetadata({ a: 'b' }), 412, 'LeaseIdMissing', `lease on ${name}`);
    await blob.getBlobLeaseClient(A).renewLease();
  }
}

test('acknowledged writes, snapshots and leases survive kill -9', async () => {
  const data = join(temporary, 'data');
  const kept = [];
  for (let round = 0; round < 5; round++) {
    const server = await startServer(program, data);
    try {
      const container = containerAt(server);
      await container.createIfNotExists();
      const writing = Promise.all([0, 1, 2].map((writer) => writeUntilDeath(container, `${round}-${writer}`)));
      await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 300)); // a random moment
      await server.stop('SIGKILL');
      kept.push(...(await writing).flat());
    } finally {
      await server.stop('SIGKILL');
    }
  }
  assert.ok(kept.length > 10, `only ${kept.length} writes were acknowledged`);
  const server = await startServer(program, data);
  try {
    const container = containerAt(server);
    for (const blob of kept) await checkKept(container, blob);
    const listed = new Set((await azure.collect(container.listBlobsFlat())).map((b) => b.name));
    assert.deepEqual(kept.filter((b) => !listed.has(b.name)), [], 'blobs missing from the list');
  } finally {
    await server.stop();
  }
});

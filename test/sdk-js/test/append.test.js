// Append blobs.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A, B } from '../lib/leases.js';

let container;
before(async () => {
  container = await azure.newContainer();
});

async function newLog() {
  const log = container.getAppendBlobClient(azure.uniqueName('log'));
  await log.create();
  return log;
}

const append = (log, text, options) => log.appendBlock(text, Buffer.byteLength(text), options);

test('what is appended is at the end', async () => {
  const log = await newLog();
  const first = await append(log, 'one\n');
  assert.equal(first.blobAppendOffset, '0');
  assert.equal(first.blobCommittedBlockCount, 1);
  const second = await append(log, 'two\n');
  assert.equal(second.blobAppendOffset, '4');
  assert.notEqual(second.etag, first.etag);
  assert.equal(await azure.read(log), 'one\ntwo\n');
  const properties = await log.getProperties();
  assert.equal(properties.blobType, 'AppendBlob');
  assert.equal(properties.blobCommittedBlockCount, 2);
});

test('lines appended at the same time are all there, whole', async () => {
  const log = await newLog();
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i}\n`);
  await Promise.all(lines.map((line) => append(log, line)));
  assert.deepEqual((await azure.read(log)).split(/(?<=\n)/).sort(), [...lines].sort());
});

test('conditions on position and size are checked', async () => {
  const log = await newLog();
  await append(log, '1234', { conditions: { appendPosition: 0 } });
  await refused(append(log, 'x', { conditions: { appendPosition: 2 } }), 412, 'AppendPositionConditionNotMet');
  await refused(append(log, '5678', { conditions: { maxSize: 6 } }), 412, 'MaxBlobSizeConditionNotMet');
  await append(log, '56', { conditions: { maxSize: 6, appendPosition: 4 } });
  assert.equal(await azure.read(log), '123456');
});

test('a wrong MD5 appends nothing', async () => {
  const log = await newLog();
  const wrong = createHash('md5').update('other').digest();
  await refused(append(log, 'text', { transactionalContentMD5: wrong }), 400, 'Md5Mismatch');
  assert.equal(await azure.read(log), '');
});

test('a lease guards it', async () => {
  const log = await newLog();
  await log.getBlobLeaseClient(A).acquireLease(60);
  await refused(append(log, 'x'), 412, 'LeaseIdMissing');
  await refused(append(log, 'x', { conditions: { leaseId: B } }), 412, 'LeaseIdMismatchWithBlobOperation');
  await append(log, 'mine', { conditions: { leaseId: A } });
  assert.equal(await azure.read(log), 'mine');
});

test('a snapshot keeps what was appended so far', async () => {
  const log = await newLog();
  await append(log, 'before ');
  const { snapshot } = await log.createSnapshot();
  await append(log, 'after');
  assert.equal(await azure.read(log.withSnapshot(snapshot)), 'before ');
  assert.equal(await azure.read(log), 'before after');
});

test('block operations are refused, and appends to a block blob', async () => {
  const log = await newLog();
  await refused(container.getBlockBlobClient(log.name).commitBlockList([]), 409, 'InvalidBlobType');
  const block = await azure.newBlob(container);
  await refused(append(container.getAppendBlobClient(block.name), 'x'), 409, 'InvalidBlobType');
  await refused(append(container.getAppendBlobClient('nowhere'), 'x'), 404, 'BlobNotFound');
});

test('If-None-Match creates it once', async () => {
  const log = await newLog();
  await append(log, 'x');
  assert.equal((await log.createIfNotExists()).succeeded, false);
  assert.equal(await azure.read(log), 'x');
  await log.create();
  assert.equal(await azure.read(log), '');
});

test('a sealed blob refuses appends', async () => {
  const log = await newLog();
  await append(log, 'x');
  await log.seal();
  assert.equal((await log.getProperties()).isSealed, true);
  await refused(append(log, 'y'), 409, 'BlobIsSealed');
});

// Snapshots: what they keep, what they allow, and how they are deleted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A, B, expectState } from '../lib/leases.js';

const container = azure.newContainer();
const newBlob = async (text, options) => azure.newBlob(await container, azure.uniqueName('snap'), text, options);

/** The snapshots of a blob, as the list has them. */
async function snapshotsOf(blob) {
  const items = await azure.collect((await container).listBlobsFlat({ prefix: blob.name, includeSnapshots: true }));
  return items.filter((item) => item.snapshot).map((item) => item.snapshot);
}

test('a snapshot is named by its time, and leaves the base as it was', async () => {
  const blob = await newBlob('base');
  const before = await blob.getProperties();
  const answer = await blob.createSnapshot();
  assert.equal(answer._response.status, 201);
  assert.match(answer.snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
  assert.ok(Math.abs(Date.parse(answer.snapshot) - Date.now()) < 60_000, answer.snapshot);
  assert.equal(answer.etag, before.etag);
  assert.deepEqual(answer.lastModified, before.lastModified);
  assert.equal((await blob.getProperties()).etag, before.etag);
});

test('a snapshot keeps content, headers, metadata, tags and blocks', async () => {
  const id = Buffer.from('one').toString('base64');
  const blob = (await container).getBlockBlobClient(azure.uniqueName('snap'));
  await blob.stageBlock(id, 'then', 4);
  await blob.commitBlockList([id], { metadata: { when: 'then' }, blobHTTPHeaders: { blobContentType: 'text/plain' }, tags: { age: 'old' } });
  const { snapshot } = await blob.createSnapshot();
  await azure.write(blob, 'something else', { metadata: { when: 'now' } });

  const then = blob.withSnapshot(snapshot);
  assert.equal(await azure.read(then), 'then');
  const properties = await then.getProperties();
  assert.deepEqual(properties.metadata, { when: 'then' });
  assert.equal(properties.contentType, 'text/plain');
  assert.equal(properties.contentLength, 4);
  assert.equal(properties.tagCount, 1);
  assert.deepEqual((await then.getBlockList('committed')).committedBlocks.map((b) => b.name), [id]);
  assert.equal(await azure.read(then, 1, 2), 'he');
});

test('a snapshot may have metadata of its own', async () => {
  const blob = await newBlob('x', { metadata: { of: 'the base' } });
  const { snapshot } = await blob.createSnapshot({ metadata: { of: 'the snapshot' } });
  assert.deepEqual((await blob.withSnapshot(snapshot).getProperties()).metadata, { of: 'the snapshot' });
  assert.deepEqual((await blob.getProperties()).metadata, { of: 'the base' });
});

test('a snapshot has neither the lease nor uncommitted blocks', async () => {
  const blob = await newBlob('x');
  await blob.stageBlock(Buffer.from('two').toString('base64'), 'later', 5);
  await blob.getBlobLeaseClient(A).acquireLease(60);
  const { snapshot } = await blob.createSnapshot();
  const then = blob.withSnapshot(snapshot);
  const { leaseState, leaseStatus } = await then.getProperties();
  assert.ok(leaseState === undefined || leaseState === 'available', `leaseState = ${leaseState}`);
  assert.ok(leaseStatus === undefined || leaseStatus === 'unlocked', `leaseStatus = ${leaseStatus}`);
  assert.deepEqual((await then.getBlockList('all')).uncommittedBlocks ?? [], []);
  await expectState(blob, 'leased');
});

test('a snapshot needs no lease id, but a wrong one is refused', async () => {
  const blob = await newBlob('x');
  await refused(blob.createSnapshot({ conditions: { leaseId: A } }), 412, 'LeaseNotPresentWithBlobOperation');
  await blob.getBlobLeaseClient(A).acquireLease(60);
  await blob.createSnapshot();
  await blob.createSnapshot({ conditions: { leaseId: A } });
  await refused(blob.createSnapshot({ conditions: { leaseId: B } }), 412, 'LeaseIdMismatchWithBlobOperation');
});

test('a snapshot cannot be written', async () => {
  const blob = await newBlob('kept');
  const { snapshot } = await blob.createSnapshot();
  const then = blob.withSnapshot(snapshot);
  for (const [what, call] of [
    ['upload', () => azure.write(then, 'changed')],
    ['setMetadata', () => then.setMetadata({ a: 'b' })],
    ['setHTTPHeaders', () => then.setHTTPHeaders({ blobContentType: 'text/html' })],
    ['createSnapshot', () => then.createSnapshot()],
    ['commitBlockList', () => then.commitBlockList([])],
  ]) {
    const error = await call().then(() => assert.fail(`${what} on a snapshot was allowed`), (e) => e);
    assert.equal(error.statusCode, 400, `${what} on a snapshot = ${error.statusCode} ${error.code}`);
  }
  assert.equal(await azure.read(then), 'kept');
  assert.equal(await azure.read(blob), 'kept');
});

test('a snapshot that is not there is not found', async () => {
  const blob = await newBlob('x');
  const never = blob.withSnapshot('2020-01-01T00:00:00.0000000Z');
  await refused(never.download(), 404, 'BlobNotFound');
  await refused(never.delete(), 404, 'BlobNotFound');
});

test('deleting a base with snapshots needs x-ms-delete-snapshots', async () => {
  const blob = await newBlob('x');
  await blob.createSnapshot();
  await blob.createSnapshot();
  await refused(blob.delete(), 409, 'SnapshotsPresent');
  assert.equal((await snapshotsOf(blob)).length, 2);
  const only = await blob.delete({ deleteSnapshots: 'only' });
  assert.equal(only._response.status, 202);
  assert.deepEqual(await snapshotsOf(blob), []);
  assert.equal(await azure.read(blob), 'x');
  const { snapshot } = await blob.createSnapshot();
  await blob.delete({ deleteSnapshots: 'include' });
  assert.equal(await blob.exists(), false);
  await refused(blob.withSnapshot(snapshot).download(), 404, 'BlobNotFound');
});

test('one snapshot is deleted by its name', async () => {
  const blob = await newBlob('x');
  const [first, second] = [(await blob.createSnapshot()).snapshot, (await blob.createSnapshot()).snapshot];
  await assert.rejects(blob.withSnapshot(first).delete({ deleteSnapshots: 'include' }), { statusCode: 400 });
  await blob.withSnapshot(first).delete();
  assert.deepEqual(await snapshotsOf(blob), [second]);
});

test('a lease on the base guards the base', async () => {
  const blob = await newBlob('x');
  const { snapshot } = await blob.createSnapshot();
  await blob.createSnapshot();
  await blob.getBlobLeaseClient(A).acquireLease(60);
  await refused(blob.delete({ deleteSnapshots: 'include' }), 412, 'LeaseIdMissing');
  assert.equal((await snapshotsOf(blob)).length, 2, 'a refused deletion took snapshots with it');
  await blob.withSnapshot(snapshot).delete();
  await blob.delete({ deleteSnapshots: 'include', conditions: { leaseId: A } });
});

test('writing the base leaves its snapshots, and a copy brings one back', async () => {
  const blob = await newBlob('first', { metadata: { edition: '1' } });
  const { snapshot } = await blob.createSnapshot();
  await azure.write(blob, 'second', { metadata: { edition: '2' } });
  assert.deepEqual(await snapshotsOf(blob), [snapshot]);
  await (await blob.beginCopyFromURL(blob.withSnapshot(snapshot).url)).pollUntilDone();
  assert.equal(await azure.read(blob), 'first');
  assert.equal((await blob.getProperties()).metadata.edition, '1');
  assert.deepEqual(await snapshotsOf(blob), [snapshot], 'restoring made or lost a snapshot');
});

test('snapshots taken at the same time have names of their own', async () => {
  const blob = await newBlob('x');
  const answers = await Promise.all(Array.from({ length: 300 }, () => blob.createSnapshot()));
  const names = new Set(answers.map((a) => a.snapshot));
  assert.equal(names.size, 300, 'snapshot ids are not unique');
  const listed = await snapshotsOf(blob);
  assert.deepEqual(listed, [...names].sort(), 'the list is not the snapshots in order');
});

test('snapshots taken one after another have increasing names', async () => {
  const blob = await newBlob('x');
  const names = [];
  for (let i = 0; i < 30; i++) names.push((await blob.createSnapshot()).snapshot);
  assert.deepEqual(names, [...new Set(names)].sort());
});

test('a snapshot has a tier of its own', async () => {
  const blob = await newBlob('x');
  const { snapshot } = await blob.createSnapshot();
  await blob.withSnapshot(snapshot).setAccessTier('Cool');
  assert.equal((await blob.withSnapshot(snapshot).getProperties()).accessTier, 'Cool');
  assert.equal((await blob.getProperties()).accessTier, 'Hot');
});

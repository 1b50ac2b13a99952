// The same data on the JSON API's port, below /blob, where a few answers differ.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A, B } from '../lib/leases.js';

const main = new URL(`/blob/${azure.account}`, process.env.LEASEHOLD_API_URL).href;
const plain = azure.clientWithoutKey(main);

/** A blob by both doors. */
async function newBlob() {
  const container = await azure.newContainer();
  const blob = await azure.newBlob(container, 'a');
  return { container, blob, here: plain.getContainerClient(container.containerName).getBlockBlobClient('a') };
}

test('both APIs serve the same data', async () => {
  const { blob, here, container } = await newBlob();
  assert.equal(await azure.read(here), 'hello');
  await azure.write(here, 'through the main port');
  assert.equal(await azure.read(blob), 'through the main port');
  await here.getBlobLeaseClient(A).acquireLease(60);
  await refused(azure.write(blob, 'x'), 412, 'LeaseIdMissing');
  assert.deepEqual((await azure.collect(plain.getContainerClient(container.containerName).listBlobsFlat())).map((b) => b.name), ['a']);
});

test('lease errors have codes of their own', async () => {
  const { here } = await newBlob();
  const lease = (id) => here.getBlobLeaseClient(id);
  const whenEnded = async (state) => {
    await refused(lease(A).renewLease(), 404, 'LeaseNotFound', `renew, ${state}`);
    await refused(lease(A).changeLease(B), 404, 'LeaseNotFound', `change, ${state}`);
    await refused(lease(A).releaseLease(), 404, 'LeaseNotFound', `release, ${state}`);
    await refused(lease().breakLease(0), 404, 'LeaseNotFound', `break, ${state}`);
  };
  await whenEnded('never leased');
  await refused(azure.write(here, 'x', { conditions: { leaseId: A } }), 412, 'LeaseIdMismatch', 'a write with an id, never leased');
  await lease(A).acquireLease(60);
  await refused(lease(B).acquireLease(60), 409, 'LeaseAlreadyPresent');
  await refused(lease(B).renewLease(), 412, 'LeaseIdMismatch');
  await refused(lease(B).releaseLease(), 412, 'LeaseIdMismatch');
  await refused(azure.write(here, 'x', { conditions: { leaseId: B } }), 412, 'LeaseIdMismatch');
  await refused(azure.write(here, 'x'), 412, 'LeaseIdMissing');
  await lease().breakLease(0);
  await whenEnded('broken');
});

test('a base is deleted alone, and its snapshots stay', async () => {
  const { container, blob, here } = await newBlob();
  const { snapshot } = await here.createSnapshot();
  await here.delete();
  assert.equal(await here.exists(), false);
  assert.equal(await azure.read(here.withSnapshot(snapshot)), 'hello');
  assert.equal(await azure.read(blob.withSnapshot(snapshot)), 'hello');
  const listed = await azure.collect(container.listBlobsFlat({ includeSnapshots: true }));
  assert.deepEqual(listed.map((b) => [b.name, b.snapshot]), [['a', snapshot]]);
  await azure.write(blob, 'a new base');
  await refused(blob.delete(), 409, 'SnapshotsPresent');
  await here.withSnapshot(snapshot).delete();
  await blob.delete();
});

test('lists put the base first', async () => {
  const { container, here } = await newBlob();
  const taken = [(await here.createSnapshot()).snapshot, (await here.createSnapshot()).snapshot];
  const items = await azure.collect(plain.getContainerClient(container.containerName).listBlobsFlat({ includeSnapshots: true }));
  assert.deepEqual(items.map((b) => b.snapshot || 'base'), ['base', ...taken]);
});

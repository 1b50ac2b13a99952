// What holds for leases beside the tables.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';
import { A, B, expectState, leasesOf } from '../lib/leases.js';

const container = azure.newContainer();
const newBlob = async () => azure.newBlob(await container);

test('lease operations keep ETag and Last-Modified', async () => {
  for (const resource of [await newBlob(), await azure.newContainer()]) {
    const before = await resource.getProperties();
    const lease = resource.getBlobLeaseClient(A);
    const answers = [await lease.acquireLease(30), await lease.renewLease(), await lease.changeLease(B), await lease.breakLease(5), await lease.releaseLease()];
    for (const answer of answers) {
      assert.equal(answer.etag, before.etag);
      assert.deepEqual(answer.lastModified, before.lastModified);
    }
    assert.equal((await resource.getProperties()).etag, before.etag);
  }
});

test('operations that grant a lease answer with its id', async () => {
  const lease = (await newBlob()).getBlobLeaseClient(A);
  assert.equal((await lease.acquireLease(15)).leaseId, A);
  assert.equal((await lease.renewLease()).leaseId, A);
  assert.equal((await lease.changeLease(B)).leaseId, B);
});

test('a lease is fixed or infinite', async () => {
  for (const [duration, kind] of [[15, 'fixed'], [60, 'fixed'], [-1, 'infinite']]) {
    const blob = await newBlob();
    await blob.getBlobLeaseClient(A).acquireLease(duration);
    assert.equal((await blob.getProperties()).leaseDuration, kind, `acquireLease(${duration})`);
  }
});

test('an infinite lease is broken at once, or in the time that was asked for', async () => {
  const first = await newBlob();
  await first.getBlobLeaseClient(A).acquireLease(-1);
  assert.equal((await first.getBlobLeaseClient().breakLease()).leaseTime, 0);
  await expectState(first, 'broken');
  const second = await newBlob();
  await second.getBlobLeaseClient(A).acquireLease(-1);
  const { leaseTime } = await second.getBlobLeaseClient().breakLease(30);
  assert.ok(leaseTime > 25 && leaseTime <= 30, `x-ms-lease-time = ${leaseTime}`);
  await expectState(second, 'breaking');
});

test('a break does not lengthen a lease', async () => {
  const blob = await newBlob();
  await blob.getBlobLeaseClient(A).acquireLease(20);
  const { leaseTime } = await blob.getBlobLeaseClient().breakLease(60);
  assert.ok(leaseTime <= 20, `x-ms-lease-time = ${leaseTime}, want at most 20`);
});

test('a lease that breaks is broken when its period is over', async () => {
  const blob = await newBlob();
  await blob.getBlobLeaseClient(A).acquireLease(-1);
  await blob.getBlobLeaseClient().breakLease(1);
  await refused(blob.getBlobLeaseClient(B).acquireLease(15), 409, 'LeaseAlreadyPresent');
  // The server's clock decides, and it is a real one.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await expectState(blob, 'broken');
  await blob.getBlobLeaseClient(B).acquireLease(15);
});

test('invalid requests are refused', async () => {
  const blob = await newBlob();
  for (const [what, id, duration, code] of [
    ['no duration', A, undefined, 'MissingRequiredHeader'],
    ['too short', A, 14, 'InvalidHeaderValue'],
    ['too long', A, 61, 'InvalidHeaderValue'],
    ['zero', A, 0, 'InvalidHeaderValue'],
    ['negative', A, -2, 'InvalidHeaderValue'],
    ['an id that is no GUID', 'mine', 15, 'InvalidHeaderValue'],
    ['an id that is nearly a GUID', A.slice(0, -1), 15, 'InvalidHeaderValue'],
  ]) {
    await refused(blob.getBlobLeaseClient(id).acquireLease(duration), 400, code, what);
  }
  await blob.getBlobLeaseClient(A).acquireLease(15);
  for (const period of [-1, 61]) {
    await refused(blob.getBlobLeaseClient().breakLease(period), 400, 'InvalidHeaderValue', `breakLease(${period})`);
  }
  await refused(blob.getBlobLeaseClient(A).changeLease('mine'), 400, 'InvalidHeaderValue', 'change to no GUID');
  await expectState(blob, 'leased');
});

test('what is not there has no lease', async () => {
  const here = await container;
  await refused(here.getBlobClient('nowhere').getBlobLeaseClient(A).acquireLease(15), 404, 'BlobNotFound');
  const nowhere = azure.service.getContainerClient(azure.uniqueName());
  await refused(nowhere.getBlobLeaseClient(A).acquireLease(15), 404, 'ContainerNotFound');
});

test('a snapshot has no lease of its own', async () => {
  const blob = await newBlob();
  const { snapshot } = await blob.createSnapshot();
  const error = await blob.withSnapshot(snapshot).getBlobLeaseClient(A).acquireLease(15).then(() => assert.fail('a snapshot was leased'), (e) => e);
  assert.equal(error.statusCode, 400);
  await expectState(blob, 'available');
});

test('a lease on a container guards its deletion, and nothing else', async () => {
  const leased = await azure.newContainer();
  const lease = leasesOf(leased);
  await refused(leased.delete({ conditions: { leaseId: A } }), 412, 'LeaseNotPresentWithContainerOperation');
  await lease(A).acquireLease(60);
  const blob = await azure.newBlob(leased, 'free');
  await blob.delete();
  await leased.setMetadata({ a: 'b' });
  await leased.setMetadata({ a: 'c' }, { conditions: { leaseId: A } });
  await refused(leased.setMetadata({ a: 'd' }, { conditions: { leaseId: B } }), 412, 'LeaseIdMismatchWithContainerOperation');
  await refused(leased.delete(), 412, 'LeaseIdMissing');
  await refused(leased.delete({ conditions: { leaseId: B } }), 412, 'LeaseIdMismatchWithContainerOperation');
  await lease(A).breakLease(30);
  await refused(leased.delete(), 412, 'LeaseIdMissing', 'while the lease is breaking');
  await leased.delete({ conditions: { leaseId: A } });
});

test('only one of many gets the lease', async () => {
  const blob = await newBlob();
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, () =>
      blob.getBlobLeaseClient(randomUUID()).acquireLease(15).then((answer) => answer._response.status, (e) => `${e.statusCode} ${e.code}`),
    ),
  );
  assert.equal(outcomes.filter((o) => o === 201).length, 1, String(outcomes));
  assert.deepEqual([...new Set(outcomes)].sort(), [201, '409 LeaseAlreadyPresent']);
});

test('a lease is listed with its blob and its container', async () => {
  const leased = await azure.newContainer();
  const blob = await azure.newBlob(leased, 'a');
  await blob.getBlobLeaseClient(A).acquireLease(-1);
  await leased.getBlobLeaseClient(A).acquireLease(30);
  const [item] = await azure.collect(leased.listBlobsFlat());
  const listed = (await azure.collect(azure.service.listContainers({ prefix: leased.containerName })))[0];
  for (const [{ properties }, duration] of [[item, 'infinite'], [listed, 'fixed']]) {
    const { leaseState, leaseStatus, leaseDuration } = properties;
    assert.deepEqual({ leaseState, leaseStatus, leaseDuration }, { leaseState: 'leased', leaseStatus: 'locked', leaseDuration: duration });
  }
});

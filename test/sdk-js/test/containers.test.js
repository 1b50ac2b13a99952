// Containers: making, describing, listing and deleting them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

test('a container is made once', async () => {
  const container = azure.service.getContainerClient(azure.uniqueName());
  assert.equal(await container.exists(), false);
  const made = await container.create({ metadata: { colour: 'red' } });
  assert.match(made.etag, /^"0x[0-9A-F]+"$/);
  assert.ok(made.lastModified instanceof Date);
  assert.equal(await container.exists(), true);
  await refused(container.create(), 409, 'ContainerAlreadyExists');
  assert.equal((await container.createIfNotExists()).succeeded, false);
});

test('a container is described by its properties', async () => {
  const container = await azure.newContainer({ metadata: { colour: 'red' }, access: 'blob' });
  const properties = await container.getProperties();
  assert.deepEqual(properties.metadata, { colour: 'red' });
  assert.equal(properties.blobPublicAccess, 'blob');
  assert.equal(properties.leaseState, 'available');
  assert.equal(properties.leaseStatus, 'unlocked');
  const before = properties.etag;
  await container.setMetadata({ shape: 'round' });
  const after = await container.getProperties();
  assert.deepEqual(after.metadata, { shape: 'round' });
  assert.notEqual(after.etag, before);
});

test('deleting a container deletes its blobs', async () => {
  const container = await azure.newContainer();
  const blob = await azure.newBlob(container);
  await blob.createSnapshot();
  await container.delete();
  assert.equal(await container.exists(), false);
  await refused(container.getProperties(), 404, 'ContainerNotFound');
  await refused(container.delete(), 404, 'ContainerNotFound');
  await refused(blob.download(), 404, 'ContainerNotFound');
  await refused(azure.write(blob, 'x'), 404, 'ContainerNotFound');
  assert.equal((await container.deleteIfExists()).succeeded, false);
});

test('a container may be deleted if nobody has changed it', async () => {
  const container = await azure.newContainer();
  const { lastModified } = await container.getProperties();
  const earlier = new Date(lastModified.getTime() - 60_000);
  await refused(container.delete({ conditions: { ifUnmodifiedSince: earlier } }), 412, 'ConditionNotMet');
  await container.delete({ conditions: { ifUnmodifiedSince: new Date(lastModified.getTime() + 60_000) } });
});

test('names that Azure refuses are refused', async () => {
  for (const [name, code] of [
    ['UPPER', 'InvalidResourceName'],
    ['two--dashes', 'InvalidResourceName'],
    ['-dash', 'InvalidResourceName'],
    ['under_score', 'InvalidResourceName'],
    ['ab', 'OutOfRangeInput'],
    ['x'.repeat(64), 'OutOfRangeInput'],
  ]) {
    await refused(azure.service.getContainerClient(name).create(), 400, code, name);
  }
});

test('the root container has blobs like any other', async () => {
  const root = azure.service.getContainerClient('$root');
  await root.createIfNotExists();
  const blob = await azure.newBlob(root, azure.uniqueName('rooted'), 'at the root');
  assert.equal(await azure.read(blob), 'at the root');
});

test('containers are listed by prefix, in pages and in order', async () => {
  const prefix = azure.uniqueName('list').slice(0, 12);
  const names = Array.from({ length: 7 }, (_, i) => `${prefix}-${i}`);
  for (const name of names) await azure.service.getContainerClient(name).create({ metadata: { of: name } });
  const pages = [];
  for await (const page of azure.service.listContainers({ prefix, includeMetadata: true }).byPage({ maxPageSize: 3 })) {
    pages.push(page.containerItems.map((c) => c.name));
    for (const c of page.containerItems) assert.deepEqual(c.metadata, { of: c.name });
  }
  assert.deepEqual(pages.map((p) => p.length), [3, 3, 1]);
  assert.deepEqual(pages.flat(), names);
});

test('a page can be asked for again by its token', async () => {
  const prefix = azure.uniqueName('token').slice(0, 12);
  for (const i of [0, 1, 2, 3]) await azure.service.getContainerClient(`${prefix}-${i}`).create();
  const first = await azure.service.listContainers({ prefix }).byPage({ maxPageSize: 2 }).next();
  const { continuationToken } = first.value;
  const rest = await azure.collect(azure.service.listContainers({ prefix }).byPage({ continuationToken, maxPageSize: 10 }));
  assert.deepEqual(rest.flatMap((p) => p.containerItems.map((c) => c.name)), [`${prefix}-2`, `${prefix}-3`]);
});

test('access policies come back as they were given', async () => {
  const container = await azure.newContainer();
  const startsOn = new Date('2026-01-02T03:04:05Z');
  const expiresOn = new Date('2036-01-02T03:04:05Z');
  await container.setAccessPolicy('container', [
    { id: 'one', accessPolicy: { startsOn, expiresOn, permissions: 'rl' } },
    { id: 'two', accessPolicy: { expiresOn, permissions: 'rwd' } },
  ]);
  const { blobPublicAccess, signedIdentifiers } = await container.getAccessPolicy();
  assert.equal(blobPublicAccess, 'container');
  assert.deepEqual(signedIdentifiers.map((s) => s.id), ['one', 'two']);
  assert.deepEqual(signedIdentifiers[0].accessPolicy.startsOn, startsOn);
  assert.deepEqual(signedIdentifiers[0].accessPolicy.expiresOn, expiresOn);
  assert.deepEqual(signedIdentifiers.map((s) => s.accessPolicy.permissions), ['rl', 'rwd']);
  const six = Array.from({ length: 6 }, (_, i) => ({ id: `p${i}`, accessPolicy: { expiresOn, permissions: 'r' } }));
  await refused(container.setAccessPolicy(undefined, six), 400, 'InvalidXmlDocument');
});

// Authorization, and the addresses of an account.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import dns from 'node:dns';
import { request } from 'node:http';
import { test } from 'node:test';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import * as azure from '../lib/client.js';
import { refused } from '../lib/expect.js';

test('a connection string is enough', async () => {
  const service = BlobServiceClient.fromConnectionString(azure.connectionString(), azure.options);
  const container = service.getContainerClient(azure.uniqueName());
  await container.create();
  const blob = await azure.newBlob(container, 'greeting', 'good morning');
  assert.equal(await azure.read(blob), 'good morning');
  assert.equal(service.accountName, azure.account);
});

test('a wrong key is refused', async () => {
  const wrong = new StorageSharedKeyCredential(azure.account, randomBytes(64).toString('base64'));
  const service = new BlobServiceClient(azure.blobURL, wrong, azure.options);
  await refused(service.getProperties(), 403, 'AuthenticationFailed');
  await refused(service.createContainer(azure.uniqueName()), 403, 'AuthenticationFailed');
});

test('a private container refuses anonymous reads', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'secret', 'hidden');
  const anonymous = azure.clientWithoutKey(azure.blobURL).getContainerClient(container.containerName);
  for (const call of [
    () => anonymous.getBlobClient('secret').download(),
    () => anonymous.getBlobClient('secret').getProperties(),
    () => anonymous.getProperties(),
    () => azure.collect(anonymous.listBlobsFlat()),
    () => anonymous.getBlockBlobClient('mine').upload('x', 1),
  ]) {
    const error = await call().then(() => assert.fail(`${call} was allowed`), (e) => e);
    assert.ok([401, 403, 404].includes(error.statusCode), `${call} = ${error.statusCode}`);
  }
});

test('public access allows anonymous reads, and nothing else', async () => {
  for (const [access, mayList] of [['blob', false], ['container', true]]) {
    const container = await azure.newContainer({ access });
    await azure.newBlob(container, 'poster', 'for all');
    const anonymous = azure.clientWithoutKey(azure.blobURL).getContainerClient(container.containerName);
    assert.equal(await azure.read(anonymous.getBlobClient('poster')), 'for all');
    const listed = await azure.collect(anonymous.listBlobsFlat()).then((all) => all.map((b) => b.name), () => 'refused');
    assert.deepEqual(listed, mayList ? ['poster'] : 'refused', `listing with access=${access}`);
    await assert.rejects(anonymous.getBlockBlobClient('mine').upload('x', 1), `writing with access=${access}`);
    await assert.rejects(anonymous.getBlobClient('poster').delete(), `deleting with access=${access}`);
  }
});

test('the account may be the first label of the host', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'a/b', 'by product style');
  withoutNameServers();
  for (const name of [`${azure.account}.blob.core.windows.net`, `${azure.account}-secondary.blob.core.windows.net`]) {
    const { port } = new URL(azure.blobURL);
    const service = new BlobServiceClient(`http://${name}:${port}`, azure.credential, azure.options);
    const blob = service.getContainerClient(container.containerName).getBlobClient('a/b');
    assert.equal(await azure.read(blob), 'by product style', name);
  }
});

test('the secondary endpoint reads the same data', async () => {
  const container = await azure.newContainer();
  await azure.newBlob(container, 'copy', 'the same');
  const secondary = new BlobServiceClient(`${azure.blobURL}-secondary`, azure.credential, azure.options);
  assert.equal(await azure.read(secondary.getContainerClient(container.containerName).getBlobClient('copy')), 'the same');
});

test('every answer names its request, version and date', async () => {
  const answer = await azure.service.getProperties();
  assert.match(answer.requestId, /^[0-9a-f-]{36}$/);
  assert.match(answer.version, /^\d{4}-\d{2}-\d{2}$/);
  assert.ok(answer.clientRequestId, 'x-ms-client-request-id was not echoed');
  const { headers } = answer._response;
  assert.ok(Math.abs(Date.parse(headers.get('date')) - Date.now()) < 60_000, `Date: ${headers.get('date')}`);
});

test('later versions are accepted', async () => {
  const container = await azure.newContainer({ access: 'container' });
  const blob = await azure.newBlob(container, 'ahead', 'of time');
  for (const version of ['2019-02-02', '2026-12-06', '2099-01-01']) {
    const { status, text } = await get(blob.url, { 'x-ms-version': version });
    assert.deepEqual({ status, text }, { status: 200, text: 'of time' }, version);
  }
});

/** Has every host name mean this machine, for the rest of this process. */
function withoutNameServers() {
  const loopback = { address: '127.0.0.1', family: 4 };
  dns.lookup = (_name, options, done) =>
    options.all ? done(null, [loopback]) : done(null, loopback.address, loopback.family);
}

/** A plain GET: no SDK, no signature. */
function get(url, headers) {
  return new Promise((resolve, reject) => {
    const call = request(url, { headers }, async (answer) => {
      const pieces = await answer.toArray();
      resolve({ status: answer.statusCode, text: Buffer.concat(pieces).toString() });
    });
    call.on('error', reject).end();
  });
}

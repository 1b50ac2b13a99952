package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// newLoggedIn makes a client that logs in, and does so again when etcd has forgotten
// its login: after some minutes without a call, and after a restart. The client would
// show the old login then, which etcd 3.4 refuses, again and again. So its logins go
// by a connection that shows none.
func newLoggedIn(config clientv3.Config) (*clientv3.Client, error) {
	plain := config
	plain.Username, plain.Password = "", ""
	logins, err := clientv3.New(plain)
	if err != nil {
		return nil, err
	}
	config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
			if method == etcdserverpb.Auth_Authenticate_FullMethodName {
				return logins.ActiveConnection().Invoke(ctx, method, request, answer, o...)
			}
			return next(ctx, method, request, answer, conn, o...)
		}))
	client, err := clientv3.New(config)
	if err != nil {
		_ = logins.Close()
		return nil, err
	}
	context.AfterFunc(client.Ctx(), func() { _ = logins.Close() })
	return client, nil
}

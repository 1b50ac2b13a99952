package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// The client tries again for as long as it may and then says that the time is up. So
// Open looks by itself what is wrong, where nothing answers.

// reachFor is how long one endpoint may take.
const reachFor = 1500 * time.Millisecond

// reach returns nil if one of the endpoints accepts a connection, with TLS if that is
// wanted, and else what the first of them says.
func reach(ctx context.Context, endpoints []string, config *tls.Config) error {
	answers := make([]chan error, len(endpoints))
	for i, endpoint := range endpoints {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- connect(ctx, endpoint, config) }()
	}
	var first error
	for _, answer := range answers {
		err := <-answer
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// connect opens a connection and closes it.
func connect(ctx context.Context, endpoint string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", endpoint)
	if err != nil || config == nil {
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	defer conn.Close()
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(endpoint)
	}
	err = tls.Client(conn, config).HandshakeContext(ctx)
	if errors.Is(err, io.EOF) {
		return &described{"the server does not speak TLS", err} // it closes the connection
	}
	return err
}

var errNeedsTLS = errors.New("the server wants TLS")

// silent says why a server that accepts connections may not have answered.
func silent(ctx context.Context, o Options, err error) error {
	if o.TLS != nil || len(o.Endpoints) == 0 {
		return err
	}
	insecure := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} // only to see whether it is TLS; nothing is sent
	if reach(ctx, o.Endpoints, insecure) == nil {
		return errors.Join(errNeedsTLS, err)
	}
	return err
}

return redis.call('HGETALL', books)

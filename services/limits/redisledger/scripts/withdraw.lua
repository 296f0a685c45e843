local text = redis.call('GET', record)
if not text or text == 'settled' then
  return 0
end
release(cmsgpack.unpack(text), 0)
redis.call('DEL', record)
return 1

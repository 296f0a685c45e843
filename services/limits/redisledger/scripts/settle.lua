-- A request that was refused is settled too, with nothing. Clients can send very many of those, so they are remembered
-- only for as long as a reservation may be late.
local late = 10000

local text = redis.call('GET', record)
if text == 'settled' then
  return 0
end
if text then
  local r = cmsgpack.unpack(text)
  local use = tokens
  if use < 0 then
    use = r.tokens
  end
  release(r, use)
  if use > r.tokens then
    chargeTokens(use - r.tokens)
  end
else
  local use = math.max(tokens, 0)
  chargeTokens(use)
  count('unreserved', model, use)
  count('used', model, use)
  if use == 0 then
    settledLifetime = late
  end
end
redis.call('SET', record, 'settled', 'PX', settledLifetime)
return 1
